"""SOAP (Vyas et al., arXiv 2409.11321): Adam in the basis of Shampoo's preconditioner.

Its family is Adam's, a step does not depend on the gradient's size, and a table has Adam's rows for
it: that its rate transfers so is not derived anywhere. torch has no class of it. A basis is
of a whole matrix, so it cannot be widened with its model.
"""

from widthwise.optimizers.known import Update

UPDATE = Update(0, decoupled=True, eps=1e-8, entrywise=False)

"""The one exception for mistakes a user can mend."""


class UserError(Exception):
    """Names what is wrong, where, and the way out, in one line; shown without a traceback."""

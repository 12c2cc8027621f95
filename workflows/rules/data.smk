# The digest in a path names the data, so neither the scale nor the age of a file makes them anew.
rule fetch:
    output:
        "resources/{dataset}/{digest}/corpus.json",
    log:
        "logs/fetch/{dataset}-{digest}.log",
    shell:
        f"python -m repro fetch {{wildcards.dataset}} {CONFIG} > {{log}} 2>&1"


rule tokenize:
    input:
        ancient("resources/{dataset}/{digest}/corpus.json"),
    output:
        "resources/{dataset}/{digest}/{tokens}/tokens.json",
    log:
        "logs/tokenize/{dataset}-{digest}-{tokens}.log",
    priority: 1e6
    params:
        vocab_size=lambda wildcards: wildcards.tokens.rsplit("-", 1)[1],
    shell:
        f"python -m repro tokenize {{wildcards.dataset}} {{params.vocab_size}} {CONFIG}"
        " > {log} 2>&1"

rule fetch:
    output:
        "resources/{dataset}/{digest}/corpus.json",
    log:
        "logs/fetch/{dataset}-{digest}.log",
    shell:
        "python -m repro fetch {wildcards.dataset} {CONFIG} > {log} 2>&1"


rule tokenize:
    input:
        "resources/{dataset}/{digest}/corpus.json",
    output:
        "resources/{dataset}/{digest}/bpe-{vocab_size}/tokens.json",
    log:
        "logs/tokenize/{dataset}-{digest}-{vocab_size}.log",
    priority: 1e6
    shell:
        "python -m repro tokenize {wildcards.dataset} {wildcards.vocab_size} {CONFIG} > {log} 2>&1"

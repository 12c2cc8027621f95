rule fetch:
    output:
        "resources/{dataset}/{digest}/corpus.json",
    log:
        "logs/fetch/{dataset}-{digest}.log",
    params:
        config=CONFIG,
    shell:
        "python -m repro fetch {wildcards.dataset} {params.config} > {log} 2>&1"


rule tokenize:
    input:
        "resources/{dataset}/{digest}/corpus.json",
    output:
        "resources/{dataset}/{digest}/bpe-{vocab_size}/tokens.json",
    log:
        "logs/tokenize/{dataset}-{digest}-{vocab_size}.log",
    priority: 1e6
    params:
        config=CONFIG,
    shell:
        "python -m repro tokenize {wildcards.dataset} {wildcards.vocab_size} {params.config} > {log} 2>&1"

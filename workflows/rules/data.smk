# The digest in a path identifies the data, so data is never made anew because of a file's age
# (`ancient`), and all scales share it.
rule fetch:
    output:
        "resources/{dataset}/{digest}/manifest.json",
    log:
        "logs/fetch/{dataset}-{digest}.log",
    shell:
        "python -P -m repro fetch {wildcards.dataset:q}" f" {literal(CONFIG)} > {{log:q}} 2>&1"


rule tokenize:
    input:
        ancient("resources/{dataset}/{digest}/manifest.json"),
    output:
        "resources/{dataset}/{digest}/{tokens}/tokens.json",
    log:
        "logs/tokenize/{dataset}-{digest}-{tokens}.log",
    wildcard_constraints:
        tokens="(bpe|gpt2)-[0-9]+-v[0-9]+",
    priority: 1e6
    resources:
        **SITE.slurm_resources(),
        cpus_per_task=lambda wildcards: tokenizing(wildcards)["cpus_per_task"],
        mem_mb=lambda wildcards: tokenizing(wildcards)["mem_mb"],
        runtime=lambda wildcards: tokenizing(wildcards)["runtime"],
    params:
        vocab_size=lambda wildcards: wildcards.tokens.split("-")[1],
        tokenizer=lambda wildcards: wildcards.tokens.split("-")[0],
    shell:
        "python -P -m repro fetch {wildcards.dataset:q} {params.vocab_size:q}"
        f" --tokenizer {{params.tokenizer:q}} {literal(CONFIG)} > {{log:q}} 2>&1"

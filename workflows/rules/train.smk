# What many cells take from many cells of an earlier stage is chosen once, for all of them. Forced
# where the cells' files are others than those it was made from, whatever their age.
rule choose:
    input:
        choice_inputs,
    output:
        f"{RESULTS}/choices/{{study}}/{{choice}}.json",
    log:
        f"logs/choose/{SUITE.config.scale}/{{study}}/{{choice}}.log",
    priority: 1e6
    params:
        config=config_parameter,
    shell:
        "python -P -m repro choose {wildcards.study:q} {wildcards.choice:q} {params.config}"
        " > {log:q} 2>&1"


# A cell's id, part of its file's name, changes with everything it is made from. So a finished cell
# is kept whatever the age of its inputs (`ancient`). Not so of a choice: where it is made anew,
# Snakemake passes over all that reads it as ancient, also what is missing; a finished cell's job then
# finds its runs done.
rule train:
    input:
        lambda wildcards: [ancient(p) for p in SUITE.needs(cell_of(wildcards)).values()],
        lambda wildcards: [ancient(p) for p in SUITE.upstream_paths(cell_of(wildcards))],
        lambda wildcards: SUITE.choice_paths(cell_of(wildcards)),
    output:
        f"{RESULTS}/{{study}}/{{cell}}.json",
    log:
        f"logs/train/{SUITE.config.scale}/{{study}}/{{cell}}.log",
    wildcard_constraints:
        study=one_of(s for s in discovery.study_names() if not discovery.keeps_checkpoints(s)),
    priority: priority
    group:
        short_group
    threads: lambda wildcards: cell_of(wildcards).runs[0].spec.get("threads", 1)
    resources:
        **{
            name: lambda wildcards, name=name: SITE.slurm_resources(request(wildcards).gpus).get(
                name, ""
            )
            for name in SITE.slurm_resources(gpus=2)
        },
        # Of a group the Slurm plugin begins one job after another: with one turn for all of them it
        # asks for the CPUs and the memory of the largest, and for the sum of their times.
        turn=1,
        nodes=1,
        gpu=lambda wildcards: request(wildcards).gpus,
        cpus_per_task=lambda wildcards: request(wildcards).cpus,
        mem_mb=lambda wildcards, attempt: request(wildcards, attempt).mem_mb,
        runtime=lambda wildcards, attempt: request(wildcards, attempt).runtime,
    params:
        config=config_parameter,
        device=lambda wildcards, resources: cluster.device(resources.gpu),
    shell:
        "python -P -m repro train {wildcards.study:q} {wildcards.cell:q} --device {params.device}"
        " {params.config} > {log:q} 2>&1"


use rule train as train_base with:
    output:
        f"{RESULTS}/{{study}}/{{cell}}.json",
        directory(f"{RESULTS}/{{study}}/{{cell}}.checkpoints"),
    wildcard_constraints:
        study=one_of(s for s in discovery.study_names() if discovery.keeps_checkpoints(s)),

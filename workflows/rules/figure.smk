# A figure is made from its runs' cells by the code that it imports. The name of its folder is a digest
# of all of it, so that contents decide what is made anew, neither file times nor .snakemake/.
rule make:
    input:
        cells_of,
    output:
        expand(
            f"{RESULTS}/{{{{paper}}}}/{{{{name}}}}/{{{{key}}}}/{{file}}",
            file=[*published.files("paper/{name}"), published.MANIFEST],
        ),
    log:
        "logs/make/{paper}/{name}-{key}.log",
    resources:
        **SITE.slurm_resources(),
    params:
        config=config_parameter,
    shell:
        "python -P -m repro make {wildcards.paper:q}/{wildcards.name:q} --key {wildcards.key}"
        " {params.config} > {log:q} 2>&1"


rule publish:
    input:
        picture_inputs,
    output:
        expand("figures/{{paper}}/{{name}}{suffix}", suffix=published.SUFFIXES),
    log:
        "logs/publish/{paper}/{name}.log",
    params:
        folder=lambda wildcards, input: os.path.dirname(input[0]),
    shell:
        "python -P -m repro publish {params.folder:q} > {log:q} 2>&1"


rule page:
    input:
        page_inputs,
    output:
        "figures/{page}.pdf",
        "figures/{page}.png",
    log:
        "logs/page/{page}.log",
    params:
        config=config_parameter,
    shell:
        "python -P -m repro page {wildcards.page:q} {params.config} > {log:q} 2>&1"


rule verify:
    input:
        manifests,
    log:
        "logs/verify.log",
    params:
        config=config_parameter,
        figures=",".join(SELECTED),
    shell:
        "python -P -m repro verify {params.config} figures={params.figures:q} 2>&1 | tee {log:q}"


rule record:
    input:
        manifests,
    log:
        "logs/record.log",
    params:
        config=config_parameter,
        figures=",".join(SELECTED),
    shell:
        "python -P -m repro record {params.config} figures={params.figures:q} 2>&1 | tee {log:q}"


rule redraw:
    log:
        "logs/redraw.log",
    params:
        config=config_parameter,
        figures=",".join(SELECTED),
    shell:
        "python -P -m repro redraw {params.config} figures={params.figures:q} 2>&1 | tee {log:q}"


rule report:
    log:
        "logs/report.log",
    params:
        config=config_parameter,
        figures=",".join(SELECTED),
    shell:
        "python -P -m repro report {params.config} figures={params.figures:q} 2>&1 | tee {log:q}"

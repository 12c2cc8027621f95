# A figure is made from its runs' cells by the code that it imports. The names of its folders contain
# digests of both, so that contents decide what is made anew, neither file times nor .snakemake/.
rule reduce:
    input:
        cells_of,
    output:
        data=f"{RESULTS}/{{figure}}/{{table}}/data.csv",
        provenance=f"{RESULTS}/{{figure}}/{{table}}/provenance.json",
    log:
        "logs/reduce/{figure}-{table}.log",
    resources:
        **SITE.slurm_resources(),
    params:
        config=config_parameter,
    shell:
        "python -P -m repro reduce {wildcards.figure:q} --key {wildcards.table} {params.config}"
        " > {log:q} 2>&1"


rule draw:
    input:
        data=f"{RESULTS}/{{paper}}/{{name}}/{{table}}/data.csv",
        provenance=f"{RESULTS}/{{paper}}/{{name}}/{{table}}/provenance.json",
    output:
        expand(
            f"{RESULTS}/{{{{paper}}}}/{{{{name}}}}/{{{{table}}}}/{{{{picture}}}}/{{file}}",
            file=["{name}.pdf", "{name}.png", "{name}.md", "{name}.csv", "results.json"],
        ),
        manifest=f"{RESULTS}/{{paper}}/{{name}}/{{table}}/{{picture}}/manifest.json",
    log:
        "logs/draw/{paper}/{name}-{table}-{picture}.log",
    resources:
        **SITE.slurm_resources(),
    params:
        folder=lambda wildcards, output: os.path.dirname(output.manifest),
    shell:
        "python -P -m repro draw {params.folder:q} > {log:q} 2>&1"


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

# A figure is made from its runs' cells by the code that it imports. The names of its inputs contain
# the cells' ids and a digest of the code, so that contents decide what is made anew, neither file
# times nor .snakemake/.
rule code:
    output:
        f"{RESULTS}/{{figure}}/code-{{code}}",
    log:
        "logs/code/{figure}-{code}.log",
    params:
        config=config_parameter,
    shell:
        "python -P -m repro code {wildcards.figure:q} {wildcards.code:q} {params.config} > {log:q} 2>&1"


rule reduce:
    input:
        cells=lambda wildcards: [
            SUITE.paths.cell(cell)
            for cells in SUITE.figure_cells(checked(wildcards.figure)).values()
            for cell in cells
        ],
        code=code_of,
    output:
        data=f"{RESULTS}/{{figure}}/data.csv",
        provenance=f"{RESULTS}/{{figure}}/provenance.json",
    log:
        "logs/reduce/{figure}.log",
    resources:
        **SITE.slurm_resources(),
    params:
        config=config_parameter,
    shell:
        "python -P -m repro reduce {wildcards.figure:q} {params.config} > {log:q} 2>&1"


rule draw:
    input:
        data=f"{RESULTS}/{{figure}}/data.csv",
        provenance=f"{RESULTS}/{{figure}}/provenance.json",
        code=code_of,
    output:
        pdf=f"{RESULTS}/{{figure}}/figure.pdf",
        png=report(
            f"{RESULTS}/{{figure}}/figure.png",
            caption="../report/figure.rst",
            category=lambda wildcards: wildcards.figure.split("/")[0],
            labels=lambda wildcards: {"figure": wildcards.figure.split("/")[1]},
        ),
        text=f"{RESULTS}/{{figure}}/figure.md",
        sheet=f"{RESULTS}/{{figure}}/sheet.pdf",
        claims=f"{RESULTS}/{{figure}}/claims.json",
        manifest=f"{RESULTS}/{{figure}}/manifest.json",
    log:
        "logs/draw/{figure}.log",
    resources:
        **SITE.slurm_resources(),
    params:
        config=config_parameter,
        caption=lambda wildcards: figure_named(wildcards.figure).caption,
    shell:
        "python -P -m repro draw {wildcards.figure:q} {params.config} > {log:q} 2>&1"


rule publish:
    input:
        pdf=lambda wildcards: f"{RESULTS}/{checked(wildcards.figure)}/figure.pdf",
        png=f"{RESULTS}/{{figure}}/figure.png",
        text=f"{RESULTS}/{{figure}}/figure.md",
        sheet=f"{RESULTS}/{{figure}}/sheet.pdf",
    output:
        expand("figures/{{figure}}.{suffix}", suffix=["pdf", "png", "md", "csv"]),
        "figures/sheets/{figure}.pdf",
    log:
        "logs/publish/{figure}.log",
    params:
        config=config_parameter,
    shell:
        "python -P -m repro publish {wildcards.figure:q} {params.config} > {log:q} 2>&1"


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


rule scoreboard:
    input:
        scoreboard_inputs,
    output:
        csv=report(
            f"{RESULTS}/scoreboard.csv",
            caption="../report/scoreboard.rst",
            category="scoreboard",
        ),
        md=f"{RESULTS}/scoreboard.md",
        manifest=f"{RESULTS}/manifest.json",
    log:
        "logs/scoreboard.log",
    params:
        config=config_parameter,
        figures=",".join(SELECTED),
    shell:
        "python -P -m repro scoreboard {params.config} figures={params.figures:q} > {log:q} 2>&1"


rule verify:
    input:
        of_selected(f"{RESULTS}/{{figure}}/manifest.json"),
    log:
        "logs/verify.log",
    params:
        config=config_parameter,
        figures=",".join(SELECTED),
    shell:
        "python -P -m repro verify {params.config} figures={params.figures:q} 2>&1 | tee {log:q}"


rule record:
    input:
        of_selected(f"{RESULTS}/{{figure}}/manifest.json"),
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

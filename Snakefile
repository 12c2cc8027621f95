# Rebuilds the figures of the suite, for example: snakemake figures/fig3.pdf --cores all
include: "workflows/rules/common.smk"
include: "workflows/rules/data.smk"
include: "workflows/rules/train.smk"
include: "workflows/rules/figure.smk"


localrules:
    all,
    fetch,
    code,
    publish,
    page,
    scoreboard,
    redraw,
    report,
    verify,
    record,


rule all:
    default_target: True
    input:
        of_selected("figures/{figure}.pdf"),
        SUITE.paths.results / "scoreboard.md",


onstart:
    prepare_slurm()
    refuse_if_too_costly()
    look_when_a_job_ends()
    calls.note(workflow.executor_plugin.name)
    MONITOR.start()


onsuccess:
    finish()


onerror:
    finish()


refuse_unknown_targets()

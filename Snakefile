# Rebuilds the figures of the suite, for example: snakemake figures/fig3.pdf --cores all
from snakemake.utils import min_version

min_version("9.27")


include: "workflows/rules/common.smk"
include: "workflows/rules/data.smk"
include: "workflows/rules/train.smk"
include: "workflows/rules/figure.smk"


localrules:
    all,
    fetch,
    choose,
    publish,
    page,
    redraw,
    report,
    verify,
    record,


rule all:
    default_target: True
    input:
        of_selected("figures/{figure}.pdf"),


onstart:
    prepare_slurm()
    refuse_if_too_costly()
    CALL.look_when_a_job_ends()
    INTERRUPT.works_here = CALL.is_local
    calls.note(CALL.executor)
    start_worker()
    MONITOR.start()


onsuccess:
    finish()


onerror:
    finish()


refuse_unknown_targets()

#!/bin/sh
# gate.sh - what action.yml runs: gates, writes the table to the job's summary, and comments it on the
# pull request. Inputs are environment variables, so that nothing of them is taken for code. Ends with
# the status of `assay gate`: 0 passes, 1 worse, 2 refused, 3 inconclusive, others: it failed.
set -u

table=$(mktemp) || exit 4
trap 'rm -f "$table"' EXIT

set -- -- "$BASELINE"
[ -z "${CANDIDATE:-}" ] || set -- "$@" "$CANDIDATE"
[ -z "${UNDER:-}" ] || set -- --under "$UNDER" "$@"
"${ASSAY:-assay}" gate --db "${DATABASE:-assay.db}" --margin "${MARGIN:-0.01}" --markdown "$table" \
    --junit "${JUNIT:-assay-gate.xml}" "$@"
status=$?

case $status in
0) decision=passes ;;
1) decision=worse ;;
2) decision=refused ;;
3) decision=inconclusive ;;
*) decision=failed ;;
esac
echo "decision=$decision" >>"${GITHUB_OUTPUT:-/dev/null}"
[ -s "$table" ] || exit "$status"
cat "$table" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"

# One comment a pull request, which later runs replace. That it cannot be written (a fork's token may
# only read) does not change the decision.
if [ "${COMMENT:-true}" = true ] && [ -n "${PULL_REQUEST:-}" ]; then
    gh pr comment "$PULL_REQUEST" --edit-last --body-file "$table" 2>/dev/null ||
        gh pr comment "$PULL_REQUEST" --body-file "$table" ||
        echo "::warning::assay gate: the table could not be commented; it is in the summary of the job"
fi
exit "$status"

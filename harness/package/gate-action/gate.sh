#!/bin/sh
# gate.sh - what action.yml and gate-gitlab.yml run: gates, writes the table to the job's summary, and
# comments it on the pull or merge request. Inputs are environment variables, so that nothing of them is
# taken for code. Ends with the status of `assay gate`: 0 passes, or is inconclusive where that is allowed,
# 1 worse, 2 refused, 3 inconclusive, others: it failed.
set -u

table=$(mktemp) || exit 4
trap 'rm -f "$table"' EXIT

set -- -- "$BASELINE"
[ -z "${CANDIDATE:-}" ] || set -- "$@" "$CANDIDATE"
[ -z "${UNDER:-}" ] || set -- --under "$UNDER" "$@"
[ -z "${ALLOW:-}" ] || set -- --allow "$ALLOW" "$@"
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
case $status$(head -n 1 "$table") in
"0### assay gate: inconclusive"*) decision=inconclusive ;;
esac
echo "decision=$decision" >>"${GITHUB_OUTPUT:-/dev/null}"
[ -s "$table" ] || exit "$status"
[ -z "${JOB_URL:-}" ] || printf '\nMeasured and gated by [this job](%s).\n' "$JOB_URL" >>"$table"
cat "$table" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
[ "${COMMENT:-true}" = true ] || exit "$status"

# One comment a request, which later runs replace. That it cannot be written (a fork's token may only
# read) does not change the decision.
gitlab() {
    printf 'PRIVATE-TOKEN: %s\n' "$GITLAB_TOKEN" | curl --silent --show-error --fail --header @- "$@"
}

comment_on_github() {
    gh pr comment "$PULL_REQUEST" --edit-last --body-file "$table" 2>/dev/null ||
        gh pr comment "$PULL_REQUEST" --body-file "$table"
}

# The newest note that begins as the table does, if there is one and it is the token's own.
comment_on_gitlab() {
    notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
    note=$(gitlab "$notes?sort=desc&per_page=100" |
        grep -oE '"id":[0-9]+,("type":[^,]*,)?"body":"### assay gate: ' | head -n 1 | tr -cd 0-9)
    { [ -n "$note" ] &&
        gitlab --output /dev/null --request PUT --data-urlencode "body@$table" "$notes/$note" 2>/dev/null; } ||
        gitlab --output /dev/null --data-urlencode "body@$table" "$notes"
}

if [ -n "${PULL_REQUEST:-}" ]; then
    comment_on_github ||
        echo "::warning::assay gate: the table could not be commented; it is in the summary of the job"
elif [ -n "${CI_MERGE_REQUEST_IID:-}" ] && [ -n "${GITLAB_TOKEN:-}" ]; then
    comment_on_gitlab ||
        echo "warning: assay gate: the table could not be noted on the merge request; it is in assay-gate.md"
fi
exit "$status"

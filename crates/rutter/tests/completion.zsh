# Types a beginning and Tab into an interactive zsh, and waits until the line has the completion.
# Arguments: the folder of the script _rutter, the beginning, the completed text.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "TERM=dumb; PROMPT=; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D; echo REA''DY"
zpty -r shell line '*READY*'
zpty -w -n shell "$2"$'\t'
zpty -r shell line "*$3*"
found=$?
zpty -d shell
exit $found

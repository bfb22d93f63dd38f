# Completion of stepback for bash. The options of a command come from its
# --help, so that this file does not go out of date.
# shellcheck shell=bash disable=SC2207

_stepback_commands() {
    "$1" --help 2>/dev/null |
        sed -n 's/^  \([a-z][a-z]*\)  *[a-z].*/\1/p'
    echo help
}

_stepback_options() {
    # shellcheck disable=SC2086 # "image build" is two words
    "$1" $2 --help 2>/dev/null |
        sed -n 's/^  *\(-., \)\{0,1\}\(--[a-z][a-z-]*=\{0,1\}\).*/\2/p' |
        sort -u
}

# The images that have been built.
_stepback_images() {
    "$1" image list 2>/dev/null | sed 's/ .*//'
}

# The steps of the current folder.
_stepback_steps() {
    "$1" history --limit=100 2>/dev/null |
        sed -n 's/^ *\(-\{0,1\}[0-9][0-9]*\)  .*/\1/p'
}

# $1: the program, $2: the command
_stepback_sandboxes() {
    case $2 in
    stats | stop | kill) "$1" ps -q 2>/dev/null ;;
    *) "$1" ps -a -q 2>/dev/null ;;
    esac
}

# Offer directories (-d) or files (-f); $2: the word under the cursor. bash then
# quotes them, as it may not do with "--option=".
_stepback_files() {
    local IFS=$'\n'
    COMPREPLY+=($(compgen "$1" -- "$2"))
    [ "${#COMPREPLY[@]}" -eq 0 ] || compopt -o filenames 2>/dev/null
}

# The words of the command line from number $1 on, before the cursor, that are
# neither options nor the value of -s.
_stepback_before() {
    local word previous=
    for word in "${COMP_WORDS[@]:$1:COMP_CWORD-$1}"; do
        [[ $word == -* || $previous == -s ]] || echo "$word"
        previous=$word
    done
}

# Ids of executions: $1: the program, $2: the command, $3: a sandbox or empty
_stepback_jobs() {
    "$1" jobs ${3:+"$3"} 2>/dev/null |
        awk -v all="$2" '$1 ~ /^[0-9]+$/ && (all == "job" || $2 !~ /^ended/) { print $1 }'
}

# [NAME] ID of "attach", and of "job" after its verb; $1: the program, $2: the
# command, $3: the word under the cursor
_stepback_execution() {
    local first=2 before
    [ "$2" = attach ] || first=3
    before=($(_stepback_before "$first"))
    if [ "$COMP_CWORD" -lt "$first" ]; then
        COMPREPLY=($(compgen -W 'logs wait kill' -- "$3"))
    elif [ "${#before[@]}" -lt 2 ]; then
        COMPREPLY=($(compgen -W "$(_stepback_jobs "$1" "$2" "${before[0]-}")
            $([ "${#before[@]}" -gt 0 ] || _stepback_sandboxes "$1" stop)" -- "$3"))
    fi
}

# NAME: or a file of "cp"; $1: the program, $2: the word under the cursor, $3:
# the previous word. bash splits NAME:PATH at the colon.
_stepback_copy() {
    [ "$2" != : ] && [ "$3" != : ] || return
    COMPREPLY=($(compgen -S : -W "$(_stepback_sandboxes "$1" stop)" -- "$2"))
    [ "${#COMPREPLY[@]}" -eq 0 ] || compopt -o nospace 2>/dev/null
    [ -z "$(compgen -f -- "$2")" ] || _stepback_files -f "$2"
}

# $1: the program, $2: the word under the cursor, $3: the previous word
_stepback() {
    local cur=$2 prev=$3 command=${COMP_WORDS[1]-}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ] && [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W '--help --version' -- "$cur"))
        return
    fi
    if [ "$COMP_CWORD" -eq 1 ] ||
        { [ "$COMP_CWORD" -eq 2 ] && [ "$command" = help ]; }; then
        COMPREPLY=($(compgen -W "$(_stepback_commands "$1")" -- "$cur"))
        return
    fi
    # bash splits "--option=value" into three words.
    if [ "$prev" = = ]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    elif [ "$cur" = = ]; then
        cur=
    fi
    case $prev in
    -C | --directory | --undo-dir | --output)
        _stepback_files -d "$cur"
        return
        ;;
    --kernel | --initrd | --shim | --env-file | --ca-certificates)
        _stepback_files -f "$cur"
        return
        ;;
    --backend) COMPREPLY=($(compgen -W 'virtiofs 9p' -- "$cur")) && return ;;
    --accel) COMPREPLY=($(compgen -W 'auto kvm tcg' -- "$cur")) && return ;;
    --rootfs) COMPREPLY=($(compgen -W 'debian' -- "$cur")) && return ;;
    --isolation) COMPREPLY=($(compgen -W 'vm local' -- "$cur")) && return ;;
    --flavour) COMPREPLY=($(compgen -W 'minimal debian standard' -- "$cur")) && return ;;
    --image)
        COMPREPLY=($(compgen -W "$(_stepback_images "$1")" -- "$cur"))
        return
        ;;
    --network) COMPREPLY=($(compgen -W 'open none' -- "$cur")) && return ;;
    --upstream-proxy) COMPREPLY=($(compgen -W 'none' -- "$cur")) && return ;;
    --guest-undo)
        COMPREPLY=($(compgen -W 'own all none' -- "$cur"))
        return
        ;;
    --git-identity)
        COMPREPLY=($(compgen -W 'host none' -- "$cur"))
        return
        ;;
    --color)
        COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
        return
        ;;
    --step | --to)
        COMPREPLY=($(compgen -W "$(_stepback_steps "$1")" -- "$cur"))
        return
        ;;
    --log-level)
        COMPREPLY=($(compgen -W 'error warn info debug trace' -- "$cur"))
        return
        ;;
    esac
    [ "$command" = image ] && [ "$COMP_CWORD" -gt 2 ] &&
        command="image ${COMP_WORDS[2]}"
    case $cur in
    -*)
        COMPREPLY=($(compgen -W "$(_stepback_options "$1" "$command")" \
            -- "$cur"))
        if [ "${#COMPREPLY[@]}" -eq 1 ] && [[ ${COMPREPLY[0]} == *= ]]; then
            compopt -o nospace 2>/dev/null
        fi
        ;;
    *)
        if [ "${COMP_WORDS[1]-}" = help ]; then
            [ "$prev" != image ] || COMPREPLY=($(compgen -W 'build list rm prune' -- "$cur"))
        elif [ "$command" = image ] && [ "$COMP_CWORD" -eq 2 ]; then
            COMPREPLY=($(compgen -W 'build list rm prune' -- "$cur"))
        elif [ "$command" = "image rm" ]; then
            COMPREPLY=($(compgen -W "$(_stepback_images "$1")" -- "$cur"))
        elif [[ " ${COMP_WORDS[*]:0:COMP_CWORD} " == *" -- "* ]]; then
            _stepback_files -f "$cur"
        elif [ "$command" = attach ] || [ "$command" = job ]; then
            _stepback_execution "$1" "$command" "$cur"
        elif [ "$command" = cp ]; then
            _stepback_copy "$1" "$cur" "$prev"
        elif [ "$command" = approve ]; then
            COMPREPLY=($(compgen -W "$(_stepback_sandboxes "$1" "$command"
                "$1" approve 2>/dev/null | awk '/^(approval-|sg_)/ { print $1 }')" \
                -- "$cur"))
        elif [[ " up exec shell jobs net port secret folder inspect stats logs audit stop kill rm " == *" $command "* ]]; then
            COMPREPLY=($(compgen -W "$(_stepback_sandboxes "$1" "$command")" \
                -- "$cur"))
        else
            _stepback_files -f "$cur"
        fi
        ;;
    esac
}

complete -o bashdefault -F _stepback stepback

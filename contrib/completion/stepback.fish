# Completion of stepback for fish. Commands and options come from --help, so that
# this file does not go out of date.

function __stepback_words # the words before the cursor, without options
    set -l words (commandline -opc)
    set -e words[1]
    string match -v -- '-*' $words
end

function __stepback_commands
    stepback --help 2>/dev/null |
        string replace -rf '^  ([a-z]+) +([a-z].*)' '$1\t$2'
    printf 'help\tthe options of a command\n'
end

function __stepback_options
    set -l words (__stepback_words)
    test "$words[1]" = image
    and set -l command image (test -n "$words[2]"; and echo $words[2]; or echo build)
    or set -l command $words[1]
    stepback $command --help 2>/dev/null |
        string replace -rf '^ +(?:-., )?(--[a-z][a-z-]*)(?:=\S*)? +(.*)' '$1\t$2'
end

function __stepback_sandboxes # $argv: options of ps
    stepback ps -q $argv 2>/dev/null
end

function __stepback_images
    stepback image list 2>/dev/null | string replace -r ' .*' ''
end

# The values of the option before the cursor, $argv[1]; without any, files.
function __stepback_values
    switch $argv[1]
        case --guest-undo
            printf '%s\n' own all none
        case --git-identity
            printf '%s\n' host none
        case --backend
            printf '%s\n' virtiofs 9p
        case --accel
            printf '%s\n' auto kvm tcg
        case --isolation
            printf '%s\n' vm local
        case --flavour
            printf '%s\n' minimal debian standard
        case --image --rootfs
            __stepback_images
        case --network
            printf '%s\n' open none
        case --upstream-proxy
            echo none
        case --color
            printf '%s\n' auto always never
        case --log-level
            printf '%s\n' error warn info debug trace
        case --step --to
            stepback history --limit=100 2>/dev/null |
                string replace -rf '^ *(-?[0-9]+)  +(.*)' '$1\t$2'
        case -C --directory --undo-dir --output
            __fish_complete_directories (commandline -ct)
        case --kernel --initrd --shim --env-file --ca-certificates
            __fish_complete_path (commandline -ct)
        case '*'
            return 1
    end
end

function __stepback_arguments
    set -l words (__stepback_words)
    set -l previous (commandline -opc)[-1]
    set -l current (commandline -ct)
    __stepback_values $previous; and return
    if string match -q -- '--*=*' $current
        set -l name (string replace -r '=.*' '' -- $current)
        __stepback_values $name | string replace -r -- '^' "$name="
        return
    end
    if test (count $words) -eq 0; or test "$words" = help
        __stepback_commands
        return
    end
    string match -q -- '-*' $current; and __stepback_options; and return
    switch "$words"
        case image
            printf '%s\n' build list rm prune
        case 'image rm*'
            __stepback_images
        case job
            printf '%s\n' logs wait kill
        case 'stats*' 'stop*' 'kill*' attach approve 'job *'
            __stepback_sandboxes
        case 'cp*'
            __stepback_sandboxes | string replace -r '$' ':'
            __fish_complete_path $current
        case 'up*' 'exec*' 'shell*' 'jobs*' 'net*' 'port*' 'secret*' 'folder*' \
            'inspect*' 'logs*' 'audit*' 'rm*'
            __stepback_sandboxes -a
        case '*'
            __fish_complete_path $current
    end
end

complete -c stepback -f -a '(__stepback_arguments)'

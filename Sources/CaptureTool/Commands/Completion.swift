import MediaPublishing
import VideoCapturing

/// A script that completes the words of a command line in a shell, made from the catalog.
enum Completion: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The script.
    func script(_ catalog: ToolCatalog) -> String {
        switch self {
        case .bash: BashCompletion.script(catalog)
        case .zsh: ZshCompletion.script(catalog)
        case .fish: FishCompletion.script(catalog)
        }
    }

    /// Text in single quotes, for any of the shells.
    static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}

extension ToolCatalog {
    /// What `-o` takes besides file names: names that need no file, and schemes.
    fileprivate var outputWords: [String] {
        outputs.entries.filter { !$0.needsTarget }.map(\.name) + outputs.entries.flatMap(\.schemes).map { "\($0)://" }
    }

    /// The words that are valid for an option; nil for file names and for what only the user knows.
    fileprivate func words(for option: OptionDescription) -> [String]? {
        switch option.value {
        case .choice(let words): words
        case .flag, .file, .text, .secret:
            switch option.name {
            case "output": outputWords
            case "size": OptionValues.sizeNames.map(\.name)
            default: nil
            }
        }
    }

    /// Whether file names complete an option.
    fileprivate func completesFiles(_ option: OptionDescription) -> Bool {
        option.value == .file || ["input", "output", "device"].contains(option.name)
    }
}

/// For bash 4 and later, without the package bash-completion.
private enum BashCompletion {
    static func script(_ catalog: ToolCatalog) -> String {
        var values: [String] = []
        var names: [String: Set<String>] = [:]
        var options: [OptionDescription] = []
        for command in ToolCommand.all {
            for option in command.allOptions(catalog) where names[option.name] == nil && !option.isFlag {
                names[option.name] = []
                options.append(option)
            }
        }
        let files = ToolCommand.all.filter { $0.operand?.words(catalog).isEmpty ?? false }.map(\.name)
        for option in options {
            let letter = ToolOptions.letters.first { $0.name == option.name }.map { ["-\($0.letter)"] } ?? []
            let pattern = (letter + ([option.name] + option.aliases).map { "--\($0)" }).joined(separator: "|")
            let words = catalog.words(for: option)?.joined(separator: " ") ?? ""
            let takesFiles = catalog.completesFiles(option) ? "-f " : ""
            let reply = "mapfile -t COMPREPLY < <(compgen \(takesFiles)-W \(Completion.quoted(words)) -- \"$cur\")"
            values.append("        \(pattern)) \(words.isEmpty && takesFiles.isEmpty ? "" : "\(reply); ")return;;")
        }
        let commands = ToolCommand.all.map { command in
            let words = command.allOptions(catalog).flatMap { [$0.name] + $0.aliases }.map { "--\($0)" }
            let operands = command.operand?.words(catalog) ?? []
            return "        \(command.name)) words=\(Completion.quoted((words + operands).joined(separator: " ")));;"
        }
        let all = ToolCommand.all.map(\.name).joined(separator: " ")
        return """
            # Completes capturer-demo in bash. In ~/.bashrc: eval "$(capturer-demo completion bash)"
            _capturer_demo() {
                local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=capture words=
                COMPREPLY=()
                # In --name=value bash makes = a word.
                if [[ $cur == = ]]; then
                    cur=
                elif [[ $previous == = && COMP_CWORD -ge 2 ]]; then
                    previous=${COMP_WORDS[COMP_CWORD-2]}
                fi
                if [[ COMP_CWORD -gt 1 && ${COMP_WORDS[1]} != -* ]]; then command=${COMP_WORDS[1]}; fi
                case $previous in
            \(values.joined(separator: "\n"))
                esac
                case $command in
            \(commands.joined(separator: "\n"))
                esac
                if [[ COMP_CWORD -eq 1 ]]; then words+=\(Completion.quoted(" " + all)); fi
                mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
                if [[ COMP_CWORD -gt 1 && " \(files.joined(separator: " ")) " == *" $command "* && $cur != -* ]]; then
                    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                fi
            }
            complete -o filenames -F _capturer_demo capturer-demo
            """
    }
}

/// For zsh, with its own completion system.
private enum ZshCompletion {
    static func script(_ catalog: ToolCatalog) -> String {
        let commands = ToolCommand.all.map { command -> String in
            let operand = command.operand.map { operand in
                let words = operand.words(catalog)
                return [Completion.quoted("1: :" + (words.isEmpty ? "_files" : "(\(words.joined(separator: " ")))"))]
            }
            let words = command.allOptions(catalog).flatMap { specs($0, catalog) } + (operand ?? [])
            return "        \(command.name))\n            _arguments \\\n                "
                + words.joined(separator: " \\\n                ") + ";;"
        }
        let names = ToolCommand.all.map { Completion.quoted("\($0.name):\($0.summary)") }
        return """
            #compdef capturer-demo
            # Completes capturer-demo in zsh. In ~/.zshrc, after compinit: eval "$(capturer-demo completion zsh)"
            _capturer_demo() {
                local command=capture
                if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
                    local -a commands=(
                        \(names.joined(separator: "\n            "))
                    )
                    _describe command commands
                    return
                fi
                if [[ $words[2] != -* ]]; then
                    command=$words[2]
                    shift words
                    (( CURRENT-- ))
                fi
                case $command in
            \(commands.joined(separator: "\n"))
                esac
            }
            # Read from a folder of completions this file is the function's first call; from .zshrc it is not.
            if [[ $funcstack[1] == _capturer_demo ]]; then
                _capturer_demo "$@"
            else
                compdef _capturer_demo capturer-demo
            fi
            """
    }

    private static func specs(_ option: OptionDescription, _ catalog: ToolCatalog) -> [String] {
        func escaped(_ text: String) -> String {
            var result = ""
            for letter in text {
                if "[]:\\".contains(letter) { result.append("\\") }
                result.append(letter)
            }
            return result
        }
        var action = ""
        if !option.isFlag {
            let words = catalog.words(for: option).map { "(\($0.map(escaped).joined(separator: " ")))" }
            action = ":\(escaped(option.placeholder)):" + (catalog.completesFiles(option) ? "_files" : words ?? " ")
        }
        let letter = ToolOptions.letters.first { $0.name == option.name }.map { ["-\($0.letter)"] } ?? []
        let names = letter + ([option.name] + option.aliases).map { "--\($0)" }
        return names.map { name in
            let star = option.isRepeatable ? "*" : ""
            let equals = option.isFlag ? "" : name.hasPrefix("--") ? "=" : "+"
            return Completion.quoted("\(star)\(name)\(equals)[\(escaped(option.help))]\(action)")
        }
    }
}

/// For fish.
private enum FishCompletion {
    static func script(_ catalog: ToolCatalog) -> String {
        let names = ToolCommand.all.map(\.name).joined(separator: " ")
        var lines = [
            "# Completes capturer-demo in fish. In config.fish: capturer-demo completion fish | source",
            "complete -c capturer-demo -f",
        ]
        for command in ToolCommand.all {
            let isCapture = command.name == ToolCommand.capture.name
            let others = ToolCommand.all.map(\.name).filter { $0 != command.name }.joined(separator: " ")
            let condition =
                isCapture
                ? "not __fish_seen_subcommand_from \(others)" : "__fish_seen_subcommand_from \(command.name)"
            lines.append(
                "complete -c capturer-demo -n \(Completion.quoted("not __fish_seen_subcommand_from \(names)")) "
                    + "-a \(command.name) -d \(Completion.quoted(command.summary))")
            for option in command.allOptions(catalog) {
                lines.append(
                    "complete -c capturer-demo -n \(Completion.quoted(condition)) \(flags(option, catalog))")
            }
            if let operand = command.operand {
                let words = operand.words(catalog).joined(separator: " ")
                lines.append(
                    "complete -c capturer-demo -n \(Completion.quoted(condition)) -a \(Completion.quoted(words))")
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func flags(_ option: OptionDescription, _ catalog: ToolCatalog) -> String {
        let letter = ToolOptions.letters.first { $0.name == option.name }.map { "-s \($0.letter) " } ?? ""
        var text = letter + ([option.name] + option.aliases).map { "-l \($0)" }.joined(separator: " ")
        text += " -d \(Completion.quoted(option.help))"
        guard !option.isFlag else { return text }
        text += catalog.completesFiles(option) ? " -r -F" : " -x"
        if let words = catalog.words(for: option) { text += " -a \(Completion.quoted(words.joined(separator: " ")))" }
        return text
    }
}

/**
 * Puts the commands that a user typed together from keystrokes, for the audit log. Takes input and returns the lines
 * that were ended by Enter, trimmed and without empty ones.
 */
interface CommandReader {
  feed(input: string): string[]
}

type State = 'text' | 'escape' | 'csi' | 'osc' | 'osc-escape'
const maxLineLength = 4096

export const createCommandReader = (): CommandReader => {
  let line = ''
  let state: State = 'text'

  /** Escape sequences (ECMA-48): CSI ends at 0x40–0x7e, OSC at BEL or ESC \, any other is two bytes. */
  const escaped = (char: string): State => {
    switch (state) {
      case 'escape':
        return char === '[' ? 'csi' : char === ']' ? 'osc' : 'text'
      case 'csi':
        return char >= '@' && char <= '~' ? 'text' : 'csi'
      case 'osc':
        return char === '\x07' ? 'text' : char === '\x1b' ? 'osc-escape' : 'osc'
      default:
        return char === '\\' ? 'text' : 'osc'
    }
  }

  return {
    feed(input) {
      const commands: string[] = []
      for (const char of input) {
        if (state !== 'text') state = escaped(char)
        else if (char === '\x1b') state = 'escape'
        else if (char === '\r' || char === '\n') {
          if (line.trim()) commands.push(line.trim())
          line = ''
        } else if (char === '\x7f' || char === '\b') line = line.slice(0, -1)
        else if (char >= ' ' && line.length < maxLineLength) line += char
      }
      return commands
    },
  }
}

/** Which images a Dockerfile begins with or copies from: those of this host are brought into the builder beforehand. */

interface Line {
  readonly text: string
  /** Number of its last line in the file, from 0. */
  readonly end: number
}

/** Instructions without comments, continued lines joined by the character that continues them, as Docker has it. */
const logicalLines = (text: string): Line[] => {
  const mark = /^#\s*escape\s*=\s*([\\`])\s*$/im.exec(text.split('\n', 3).join('\n'))?.[1] ?? '\\'
  const lines: Line[] = []
  let open = ''
  for (const [end, raw] of text.split(/\r?\n/).entries()) {
    if (/^\s*#/.test(raw)) continue
    const line = raw.trimEnd()
    if (line.endsWith(mark)) {
      open += `${line.slice(0, -1)} `
      continue
    }
    lines.push({ text: (open + line).trim(), end })
    open = ''
  }
  if (open) lines.push({ text: open.trim(), end: Infinity })
  return lines.filter(line => line.text !== '')
}

const isFrom = (line: Line): boolean => /^from\s/i.test(line.text)

/** The Dockerfile with `instruction` as the first of every stage. */
export const inEveryStage = (dockerfile: string, instruction: string): string => {
  const ends = new Set(
    logicalLines(dockerfile)
      .filter(isFrom)
      .map(({ end }) => end),
  )
  return dockerfile
    .split(/\r?\n/)
    .flatMap((line, at) => (ends.has(at) ? [line, instruction] : [line]))
    .join('\n')
}

/** `$NAME`, `${NAME}` and `${NAME:-otherwise}`. */
const expand = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(
    /\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})/g,
    (_, plain?: string, braced?: string, otherwise = '') => values.get(plain ?? braced ?? '') || otherwise,
  )

/** References, each once, without the names of earlier stages and `scratch`. What cannot be read is left for the builder to say. */
export const basesOf = (dockerfile: string, args: Readonly<Record<string, string>>): string[] => {
  const values = new Map<string, string>()
  const stages = new Set<string>(['scratch'])
  const found = new Set<string>()
  let isGlobal = true
  let stage = 0
  const note = (given: string): void => {
    const reference = expand(given, values)
    if (reference !== '' && !stages.has(reference.toLowerCase())) found.add(reference)
  }
  for (const { text: line } of logicalLines(dockerfile)) {
    const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/s.exec(line) ?? []
    const instruction = word.toUpperCase()
    if (instruction === 'ARG' && isGlobal) {
      const [, name = '', value = ''] = /^(\w+)(?:=["']?(.*?)["']?)?$/s.exec(rest) ?? []
      values.set(name, args[name] ?? expand(value, values))
    }
    if (instruction === 'FROM') {
      isGlobal = false
      const words = rest.split(/\s+/).filter(one => !one.startsWith('--'))
      note(words[0] ?? '')
      stages.add(String(stage++))
      if (words[1]?.toLowerCase() === 'as' && words[2]) stages.add(words[2].toLowerCase())
    }
    const from =
      instruction === 'COPY' || instruction === 'RUN'
        ? /--(?:mount=\S*?\bfrom|from)=([^\s,]+)/.exec(rest)?.[1]
        : undefined
    if (from) note(from)
  }
  return [...found]
}

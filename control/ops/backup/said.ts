/**
 * What a program says while it goes through files of tenants: a line for each that it passes over, of which there may be millions, each as
 * long as a path. Only its end is kept, and the first of those lines that are asked for.
 */
export interface Said {
  /** The last of it, some kilobytes. */
  readonly end: string
  /** There was something, and every line of it was one that may pass. */
  readonly isPassable: boolean
  /** How many lines were asked for, and the first. */
  readonly found: number
  readonly first: string | undefined
}

/** Longer than any line that is looked at: one path, and what is wrong with it. */
const longestLine = 64 * 1024
const kept = 4_096

/** Reads all of it. `passable` is for every line, `wanted` for those that are counted. */
export const listen = async (
  said: AsyncIterable<Buffer>,
  { passable, wanted }: { readonly passable?: RegExp | undefined; readonly wanted?: RegExp | undefined },
): Promise<Said> => {
  let end = ''
  let line = ''
  let [isPassable, isSilent, found] = [passable !== undefined, true, 0]
  let first: string | undefined
  const look = (whole: string): void => {
    if (whole === '') return
    isSilent = false
    isPassable &&= passable?.test(whole) === true
    if (wanted?.test(whole)) {
      found++
      first ??= whole
    }
  }
  for await (const piece of said) {
    const text = piece.toString('latin1')
    end = (end + text.slice(-kept)).slice(-kept)
    const lines = (line + text).split('\n')
    line = (lines.pop() as string).slice(0, longestLine)
    for (const one of lines) look(one)
  }
  look(line)
  return { end: Buffer.from(end, 'latin1').toString().trim(), isPassable: isPassable && !isSilent, found, first }
}

import type { Clock } from '../clock.ts'

/** The header of that name with the time in HTTP's format and the end of its line; made once a second. */
export const dater = ({ now }: Pick<Clock, 'now'>, name: 'date' | 'Date'): (() => string) => {
  let second = 0
  let text = ''
  return () => {
    const at = Math.floor(now() / 1_000)
    if (at !== second) {
      second = at
      text = `${name}: ${new Date(at * 1_000).toUTCString()}\r\n`
    }
    return text
  }
}

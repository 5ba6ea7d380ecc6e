/** What operators type, with what it answers: a block of `console` whose lines begin with `$ `, in the order of the page. */
export interface Typed {
  readonly script: string
  readonly says: string
}

export const typedIn = (page: string): Typed[] =>
  [...page.matchAll(/^```console\n(\$ [^]*?)\n```$/gm)].flatMap(([, block = '']) =>
    `\n${block}`
      .split('\n$ ')
      .slice(1)
      .map(part => {
        const [script = '', ...says] = part.split('\n')
        return { script, says: says.join('\n') }
      }),
  )

/** Widths of columns, times and sizes differ from run to run; an id that was made is another one. */
const settled = (text: string): string =>
  text
    .replace(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d\.\d+Z)?/g, '<time>')
    .replace(/\d+(\.\d+)? (MB|ms)/g, '<n> $2')
    .replace(/(never|<time>)$/gm, '<used>')
    .replace(/ +/g, ' ')
    .trim()

/** Whether it answered what the page says, where `…` stands for anything. */
export const answersAsSaid = (says: string, answered: string): boolean => {
  const parts = settled(says)
    .split('…')
    .map(part => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*?')}$`).test(settled(answered))
}

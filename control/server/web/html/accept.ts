/** Whether who asks wants a page. */
import type { Request } from '../../../../shared/route.ts'

/** Quality of a media range for `type`, 0 when it is not named. */
const qualityOf = (accept: string, types: readonly string[]): number =>
  Math.max(
    0,
    ...accept.split(',').map(part => {
      const [range = '', ...parameters] = part.split(';').map(word => word.trim().toLowerCase())
      if (!types.includes(range)) return 0
      const q = parameters.find(one => one.startsWith('q='))
      return q === undefined ? 1 : Number(q.slice(2)) || 0
    }),
  )

/** Whether `Accept` prefers HTML to JSON: it names it, and JSON not higher. */
export const prefersHtml = (accept: string | undefined): boolean => {
  if (!accept) return false
  const html = qualityOf(accept, ['text/html'])
  return html > 0 && html >= qualityOf(accept, ['application/json'])
}

/** The same of a request's headers. */
export const wantsHtml = ({ headers }: Pick<Request, 'headers'>): boolean =>
  prefersHtml(typeof headers['accept'] === 'string' ? headers['accept'] : undefined)

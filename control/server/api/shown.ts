/** What the provider says, as people see it. */
import { fail } from '../../../shared/errors.ts'
import type { InProcessAnswer } from '../../../shared/http/in-process.ts'
import { Reply } from '../../../shared/route.ts'
import { pageHeaders } from '../web/html/page.ts'
import { deviceGoOnPage, onwardPage } from '../access/identity/pages.ts'

export const page = (text: string, status = 200, cookies: readonly string[] = []): Reply =>
  new Reply(status, pageHeaders(), text, cookies)

const cookiesOf = ({ headers }: InProcessAnswer): string[] => [headers['set-cookie'] ?? []].flat()

const errorOf = (body: string): string => {
  try {
    const { error, error_description: description } = JSON.parse(body) as Record<string, string>
    return [error, description].filter(Boolean).join(': ')
  } catch {
    return 'the request cannot be answered'
  }
}

/** A form of the library that would submit itself: our pages run no script of theirs, and people press its button. */
const withoutScript = (body: string): string => body.replace(/<script>[^]*?<\/script>|<\/?noscript>/g, '')

/** The one page of the library that is nothing but such a form, with the code of a device in it. */
const readable = (body: string): string => {
  if (!body.includes('<title>Submitting Callback</title>')) return withoutScript(body)
  return deviceGoOnPage([...body.matchAll(/<input type="hidden"[^>]*>/g)].join(''))
}

/** What the provider answers to a browser. A form is not answered with a redirect to another origin, but with a page. */
export const shown = (answer: InProcessAnswer, issuer: string): Reply => {
  const { status, headers, body } = answer
  const cookies = cookiesOf(answer)
  const location = headers['location']
  if (typeof location === 'string') {
    const isOurs = new URL(location, issuer).origin === new URL(issuer).origin
    if (!isOurs) return page(onwardPage(location), 200, cookies)
    return new Reply(
      303,
      { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
      undefined,
      cookies,
    )
  }
  if (/^\s*</.test(body)) return page(readable(body), status, cookies)
  if (status >= 500) throw new Error(`the provider failed: ${errorOf(body)}`)
  throw fail('invalid_argument', { field: '', reason: errorOf(body) })
}

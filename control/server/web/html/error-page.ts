/** A failure for people who came by a browser. */
import type { AppError } from '../../../../shared/errors.ts'
import { reply, type Reply, type Request } from '../../../../shared/route.ts'
import { html } from './html.ts'
import { pageHeaders, pageText, rootFrom } from './page.ts'

export interface ErrorPage {
  readonly status: number
  /** The code that programs get. */
  readonly code: string
  readonly message: string
  /** What to do about it. */
  readonly action?: string
  readonly root: string
  /** Where to log in, for a failure that a login mends. */
  readonly login?: string | undefined
}

/** `NOT_FOUND` → `Not found`. */
const inWords = (code: string): string => {
  const words = code.toLowerCase().replaceAll('_', ' ')
  return `${words[0]?.toUpperCase()}${words.slice(1)}`
}

export const errorPage = ({ status, code, message, action = '', root, login }: ErrorPage): string =>
  pageText({
    title: inWords(code),
    root,
    body: html`<main>
<h1>${inWords(code)}</h1>
<p>${message}</p>
${action ? html`<p>${action[0]?.toUpperCase() + action.slice(1)}.</p>\n` : []}${
  login === undefined ? [] : html`<p><a class="button" href="${login}">Log in</a></p>\n`
}<p class="small">${String(status)} ${code}</p>
</main>`,
  })

/** The same as an answer. */
export const errorPageReply = (
  { status, code, message }: AppError,
  { rawPath }: Pick<Request, 'rawPath'>,
  headers: Readonly<Record<string, string>>,
): Reply =>
  reply(
    status,
    { ...headers, ...pageHeaders(), vary: 'Accept' },
    errorPage({ status, code, message, root: rootFrom(rawPath) }),
  )

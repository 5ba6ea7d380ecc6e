import { html } from './html.ts'
import { pageText } from './page.ts'

/** A page that goes on at once: where a redirect is not followed, or not allowed under our policy, to another origin. */
export const onwardText = (url: string, root: string): string =>
  pageText({
    title: 'Opening',
    root,
    body: html`<meta http-equiv="refresh" content="0; url=${url}">
<main><p><a href="${url}">Go on</a></p></main>`,
  })

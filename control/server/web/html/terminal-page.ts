/** The page with a terminal, served by the host: what is in the sandbox could be anybody's. */
import { html } from './html.ts'
import { pageText } from './page.ts'

/** Its script connects to `terminal/ws` beside its own address; the query of the page goes on to it. */
export const terminalPage = ({
  name,
  ...page
}: {
  readonly name: string
  readonly root: string
  readonly nonce: string
}) =>
  pageText({
    ...page,
    title: name,
    body: html`<div id="terminal" data-name="${name}"></div>`,
    styles: ['xterm.css', 'terminal.css'],
    scripts: ['style-nonce.js', 'xterm.js', 'addon-fit.js', 'addon-web-links.js', 'addon-unicode11.js', 'terminal.js'],
  })

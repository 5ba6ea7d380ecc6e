/** The first page: what is here, a form to open something, and where to read on. */
import { html, type Html } from './html/html.ts'

export const startBody = (form: Html): Html => html`<main>
<h1>Hutch</h1>
<p>This is a host of sandboxes. Programs use the API below <code>/v0</code>; people open terminals and ports here.</p>
<h2>Open a sandbox</h2>
${form}
<h2>APIs</h2>
<p><a href="explorer/">Explorer of both APIs</a> · <a href="v0/openapi.json">OpenAPI document</a></p>
</main>`

/** The same for programs: addresses relative to this one. */
export const startDocument = () => ({
  name: 'hutch',
  api: 'v0',
  openapi: 'v0/openapi.json',
  explorer: 'explorer/',
})

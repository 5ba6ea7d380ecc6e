/** The explorer: Swagger UI, served from here, on documents computed here. */
import { openApi } from '../../../shared/http/openapi.ts'
import { swagger2 } from '../../../shared/http/swagger2.ts'
import type { Route } from '../../../shared/route.ts'
import { fail } from '../../../shared/errors.ts'
import { sandboxRoutes } from '../../../shared/wire/index.ts'
import { sandboxFamilies, sandboxTexts } from '../../../shared/wire/texts.ts'
import { html } from './html/html.ts'
import type { Documentation } from '../proxy/gateway/documentation.ts'
import { pageHeaders, pageText, type PagePolicy } from './html/page.ts'

/** Where a sandbox is: `/{workspace}/{plural}/{name}`, on this origin. */
const placePattern = /^(?:\/[a-z0-9][a-z0-9-]*){3}$/

/** The address as given. Throws `invalid_argument`. */
const placeOf = (at: string | undefined): string | undefined => {
  if (at === undefined || at === '' || placePattern.test(at)) return at || undefined
  throw fail('invalid_argument', { field: 'at', reason: 'must be the path of a sandbox, like /default/sandboxes/web' })
}

/** The one style element that this version of Swagger UI makes, by its hash. */
export const explorerPolicy: PagePolicy = {
  styles: "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='",
  styleAttributes: true,
}

/** `root` leads to the root of this origin. */
export const explorerText = (at: string | undefined, root: string): string => {
  const place = placeOf(at)
  const workload = `${root}explorer/sandbox.json${place === undefined ? '' : `?at=${encodeURIComponent(place)}`}`
  const first = place === undefined ? 'Management API' : 'Sandbox API'
  return pageText({
    title: place === undefined ? 'API explorer' : `API explorer: ${place.split('/')[3]}`,
    root,
    body: html`<div id="explorer" data-management="${root}v0/openapi.json" data-workload="${workload}" data-first="${first}"></div>`,
    styles: ['swagger-ui.css', 'explorer.css'],
    scripts: ['swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'explorer.js'],
  })
}

const documentAt = (base: string) =>
  openApi(
    Object.values(sandboxRoutes).flatMap(group => Object.values(group) as Route[]),
    {
      title: 'Sandbox API',
      version: '1',
      description: 'Files, processes, terminals and networking of one sandbox.',
      servers: [base],
      credential: { headers: ['authorization'], optional: false },
      texts: sandboxTexts,
      families: sandboxFamilies,
      errors: ['invalid_argument'],
    },
  )

/** The document of the per-sandbox API at a sandbox. */
export const workloadDocumentOf = (at: string | undefined) => documentAt(placeOf(at) ?? '/default/sandboxes/web')

/** What `{sandbox}/swagger/` shows; `pluralOf` is how records of a kind are addressed. */
export const documentation = (pluralOf: (kind: string) => string): Documentation => ({
  place: (kind, { workspace, name }) => `/${workspace}/${pluralOf(kind)}/${name}`,
  page: (place, root) => ({ headers: pageHeaders(explorerPolicy), text: explorerText(place, root) }),
  document(name, { base, host, scheme }) {
    if (name === 'openapi.json') return documentAt(base)
    if (name === 'doc.json') return swagger2(documentAt(base), { host, basePath: base, schemes: [scheme] })
    return undefined
  },
})

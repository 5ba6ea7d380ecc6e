/** The explorer: Swagger UI, served from here, on documents computed here. */
import { openApi } from '../../shared/http/openapi.ts'
import type { Route } from '../../shared/route.ts'
import { fail } from '../../shared/errors.ts'
import { sandboxRoutes } from '../../shared/wire/index.ts'
import { sandboxFamilies, sandboxTexts } from '../../shared/wire/texts.ts'
import { html } from '../html/html.ts'
import { pageText, type PagePolicy } from '../html/page.ts'

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

export const explorerText = (at: string | undefined): string => {
  const place = placeOf(at)
  const workload = `sandbox.json${place === undefined ? '' : `?at=${encodeURIComponent(place)}`}`
  const first = place === undefined ? 'Management API' : 'Sandbox API'
  return pageText({
    title: place === undefined ? 'API explorer' : `API explorer: ${place.split('/')[3]}`,
    root: '../',
    body: html`<div id="explorer" data-management="../v0/openapi.json" data-workload="${workload}" data-first="${first}"></div>`,
    styles: ['swagger-ui.css', 'explorer.css'],
    scripts: ['swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'explorer.js'],
  })
}

/** The document of the per-sandbox API at a sandbox. */
export const workloadDocumentOf = (at: string | undefined) => {
  const place = placeOf(at)
  const routes = Object.values(sandboxRoutes).flatMap(group => Object.values(group) as Route[])
  return openApi(routes, {
    title: 'Sandbox API',
    version: '1',
    description: 'Files, processes, terminals and networking of one sandbox.',
    servers: [place === undefined ? '/default/sandboxes/web' : place],
    credential: { headers: ['authorization'], optional: false },
    texts: sandboxTexts,
    families: sandboxFamilies,
  })
}

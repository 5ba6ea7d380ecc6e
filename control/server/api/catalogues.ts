/** Catalogues: what an operator lists for everybody on this host. */
import { fail } from '../../../shared/errors.ts'
import { handle, reply, route, type Bound } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import type { Catalogues } from '../../core/catalogues/catalogues.ts'
import { archiveOf } from '../../core/catalogues/archive.ts'
import { entryShapes } from '../../core/catalogues/shapes.ts'
import { sourcePath, templates } from '../../core/catalogues/shipped/templates.ts'
import { tenantQuery } from './paging.ts'

const common = (family: string, scope: string) => ({
  family,
  query: s.object(tenantQuery),
  extra: { access: { scope, role: 'member' } satisfies Access },
})

export const sandboxHub = route('GET /v0/sandbox/hub', {
  ...common('catalogues', 'sandboxhub:list'),
  id: 'sandboxHub.list',
  summary: 'Lists sandboxes that this host is ready to start',
  returns: s.array(entryShapes['sandbox-hub']),
  errors: ['unavailable'],
})

export const mcpHub = route('GET /v0/mcp/hub', {
  ...common('catalogues', 'mcphub:list'),
  id: 'mcpHub.list',
  summary: 'Lists MCP servers that functions can be made from',
  returns: s.array(entryShapes['mcp-hub']),
  errors: ['unavailable'],
})

export const listTemplates = route('GET /v0/templates', {
  ...common('catalogues', 'templates:list'),
  id: 'templates.list',
  summary: 'Lists templates of projects',
  returns: s.array(entryShapes.templates),
  errors: ['unavailable'],
})

export const getTemplate = route('GET /v0/templates/:templateName', {
  ...common('catalogues', 'templates:get'),
  id: 'templates.get',
  summary: 'Answers one template',
  params: s.object({ templateName: s.string() }),
  returns: entryShapes.templates,
  errors: ['not_found', 'unavailable'],
})

export const getTemplateSource = route('GET /v0/templates/:templateName/source', {
  ...common('catalogues', 'templates:get'),
  id: 'templates.source',
  summary: 'Answers the files of a template that comes with this host, as a tar archive',
  params: s.object({ templateName: s.string() }),
  produces: ['application/x-tar'],
  errors: ['not_found'],
})

export const getIntegration = route('GET /v0/integrations/:integrationName', {
  ...common('catalogues', 'integrations:list'),
  id: 'integrations.get',
  summary: 'Answers how a provider is asked: its endpoints, headers and parameters',
  params: s.object({ integrationName: s.string() }),
  returns: entryShapes.integrations,
  errors: ['not_found', 'unavailable'],
})

export const changelog = route('GET /v0/changelog', {
  id: 'changelog.get',
  summary: 'Lists what has changed on this host, newest first',
  family: 'catalogues',
  returns: s.object({ entries: s.array(entryShapes.changelog) }),
  open: true,
})

const named = <E extends { readonly name: string }>(entries: readonly E[], kind: string, name: string): E => {
  const found = entries.find(entry => entry.name === name)
  if (!found) throw fail('not_found', { kind, name })
  return found
}

/** Seconds for which everybody's caches may keep what is the same for everybody. */
const cachedSeconds = 300

interface CatalogueDeps {
  readonly catalogues: Catalogues
  readonly publicUrl: () => string
}

/** Templates with whole addresses: those that come with this host are on it. */
const templatesOf = async ({ catalogues, publicUrl }: CatalogueDeps) =>
  (await catalogues.read('templates')).map(one =>
    one.url === sourcePath(one.name) ? { ...one, url: `${publicUrl()}${one.url}` } : one,
  )

export const catalogueRoutes = (deps: CatalogueDeps): Bound[] => [
  handle(sandboxHub, async () => [...(await deps.catalogues.read('sandbox-hub'))]),
  handle(mcpHub, async () => [...(await deps.catalogues.read('mcp-hub'))]),
  handle(listTemplates, () => templatesOf(deps)),
  handle(getTemplate, async ({ params }) => named(await templatesOf(deps), 'template', params.templateName)),
  handle(getTemplateSource, ({ params: { templateName: name } }) => {
    const found = templates.find(({ entry }) => entry.name === name)
    if (!found) throw fail('not_found', { kind: 'template', name })
    return reply(200, { 'content-type': 'application/x-tar' }, archiveOf(found))
  }),
  handle(getIntegration, async ({ params }) =>
    named(await deps.catalogues.read('integrations'), 'integration', params.integrationName),
  ),
  handle(changelog, async () => {
    const entries = (await deps.catalogues.read('changelog')).toSorted((a, b) => b.date.localeCompare(a.date))
    const headers = { 'content-type': 'application/json', 'cache-control': `public, max-age=${cachedSeconds}` }
    return reply(200, headers, JSON.stringify({ entries }))
  }),
]

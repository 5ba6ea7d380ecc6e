/** The endpoints of the management API as its page lists them: who may call each, from the declarations. */
import { managementRoutes } from '../../control/index.ts'
import { templateOf } from '../../shared/http/openapi.ts'
import type { Route } from '../../shared/route.ts'

const begin = '<!-- management: written by `node test/docs/write.ts` -->'
const end = '<!-- /management -->'

const isRoute = (value: object): value is Route => 'method' in value && 'path' in value

const routesIn = (value: object): Route[] =>
  isRoute(value) ? [value] : Object.values(value).flatMap(one => routesIn(one as object))

const methods = ['GET', 'POST', 'PUT', 'DELETE']

const order = (a: Route, b: Route): number =>
  a.path.localeCompare(b.path, 'en') || methods.indexOf(a.method) - methods.indexOf(b.method)

const rowOf = ({ method, path, summary, extra }: Route): string => {
  const { access } = extra as { access?: { scope: string | readonly string[]; role: string } }
  const scopes = access ? [access.scope].flat().map(scope => `\`${scope}\``) : ['none']
  return `| \`${method} ${templateOf(path)}\` | ${scopes.join(', ')} | ${access?.role ?? 'anybody'} | ${summary} |`
}

/** The page with its table as declared. */
export const withRoutes = (page: string): string => {
  const rows = routesIn(managementRoutes).toSorted(order).map(rowOf)
  const table = [begin, '', '| endpoint | scope | role | |', '|---|---|---|---|', ...rows, '', end].join('\n')
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  return `${page.slice(0, from)}${table}${page.slice(to + end.length)}`
}

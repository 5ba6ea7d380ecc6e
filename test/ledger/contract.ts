/** What the ledger has to list: the operations, tools, kinds and dimensions that this tree declares, and those of the contract's list. */
import { managementRoutes, sandboxRoutes } from '../../control/index.ts'
import { plainKinds } from '../../control/core/kinds/index.ts'
import { templateOf } from '../../shared/http/openapi.ts'
import type { Route } from '../../shared/route.ts'
import { operations } from '../control/server/api/contract-operations.ts'
import type { Row } from '../ledger.ts'

const isRoute = (value: object): value is Route => 'method' in value && 'path' in value

const routesIn = (value: object): Route[] =>
  isRoute(value) ? [value] : Object.values(value).flatMap(one => routesIn(one as object))

/** The operation without the names of its parameters, so that two spellings of one path are the same. */
export const shapeOf = (operation: string): string =>
  operation.replaceAll(/\{(\w+)\}/g, (whole, name: string) => (places.includes(name) ? whole : '{}'))

/** Names in braces that stand for hosts. */
const places: readonly string[] = ['sandbox', 'run', 'preview', 'application', 'callbackUrl', 'upload']

/** Operations that are served now, from the declarations of their routes. */
export const served = (): string[] => [
  ...routesIn(managementRoutes).map(({ method, path }) => `${method} ${templateOf(path)}`),
  ...routesIn(sandboxRoutes).map(({ method, path }) => `${method} {sandbox}${templateOf(path)}`),
]

/** Operations and kinds that have to have a row. */
export const wanted = (): string[] => [
  ...new Set([
    ...served(),
    ...operations.map(({ method, path }) => `${method} /v0${path}`),
    ...[...plainKinds.map(({ kind }) => kind), 'sandbox'].map(kind => `kind ${kind}`),
  ]),
]

/** Addresses of the two documented APIs; workloads, previews and uploads are served without a declared route. */
const isDocumented = ({ operation }: Row): boolean => /^[A-Z]+ (\/v0\/|\{sandbox\}\/(?!$|port\/))/.test(operation)

/** Rows of operations that this tree does not serve. */
export const unserved = (rows: readonly Row[]): Row[] => {
  const shapes = new Set(served().map(shapeOf))
  return rows.filter(row => isDocumented(row) && !shapes.has(shapeOf(row.operation)))
}

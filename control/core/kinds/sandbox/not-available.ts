/** Endpoints of a sandbox that this host answers with `not_available`: snapshots and forks need storage it has not. */
import { fail } from '../../../../shared/errors.ts'
import type { Method } from '../../../../shared/route.ts'
import { s } from '../../../../shared/schema.ts'
import type { Action } from '../../records/action.ts'

/** `'GET snapshots sandboxes:list'`: method, what follows the sandbox's address, scope. */
const endpoints: Readonly<Record<string, readonly string[]>> = {
  snapshots: [
    'GET snapshots sandboxes:list',
    'POST snapshots sandboxes:update',
    'DELETE snapshots/:snapshotId sandboxes:delete',
  ],
  forks: ['POST fork sandboxes:create'],
}

const refusing = (what: string, endpoint: string): Action => {
  const [method, path, scope] = endpoint.split(' ') as [Method, string, string]
  return {
    name: `${path.replaceAll(/[/:]+/g, '.')}.${method.toLowerCase()}`,
    summary: `Not available on this host: ${what}`,
    method,
    path,
    on: 'record',
    access: { scope, role: 'member' },
    returns: s.looseObject({}),
    errors: ['not_available'],
    run() {
      throw fail('not_available', { what })
    },
  }
}

/** An unknown sandbox is 404 all the same. */
export const notAvailable: readonly Action[] = Object.entries(endpoints).flatMap(([what, all]) =>
  all.map(endpoint => refusing(what, endpoint)),
)

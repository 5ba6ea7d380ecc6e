/** Keys that verify tokens of drives. */
import { handle, route, type Bound } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'

export const driveKeys = route('GET /v0/drives/jwks.json', {
  id: 'drives.keys',
  summary: 'Lists the keys that verify tokens of drives: none while this host makes no such tokens',
  family: 'drives',
  returns: s.object({ keys: s.array(s.looseObject({})) }),
  open: true,
})

export const driveKeyRoutes = (): Bound[] => [handle(driveKeys, () => ({ keys: [] }))]

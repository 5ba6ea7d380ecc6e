import { decodePath } from '../../../shared/http/request.ts'
import type { Request } from '../../../shared/route.ts'

/** The parts of a request target, path and query as they were sent. */
export const partsOf = (target: string): Pick<Request, 'rawPath' | 'path' | 'search' | 'rawQuery'> => {
  const cut = target.indexOf('?')
  const rawPath = cut < 0 ? target : target.slice(0, cut)
  const rawQuery = cut < 0 ? '' : target.slice(cut + 1)
  return { rawPath, path: decodePath(rawPath), search: new URLSearchParams(rawQuery), rawQuery }
}

import { access } from 'node:fs/promises'
import { errno } from './errors.ts'

/** Whether there is something at the path, a link that leads somewhere included. */
export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    error => {
      if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return false
      throw error
    },
  )

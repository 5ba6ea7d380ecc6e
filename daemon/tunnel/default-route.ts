/** The IPv4 default routes that the kernel has now. */
import { readFile } from 'node:fs/promises'
import { errno } from '../../shared/errors.ts'

/** Whether the only IPv4 default route is through `device`. It is called every second, so it starts no process. */
export const isOnlyDefault = async (device: string): Promise<boolean> => {
  try {
    const rows = (await readFile('/proc/net/route', 'latin1'))
      .split('\n')
      .slice(1)
      .map(line => line.split('\t'))
    const found = rows.filter(row => row[1] === '00000000' && row[7] === '00000000').map(row => row[0])
    return found.length === 1 && found[0] === device
  } catch (error) {
    if (errno(error) === 'ENOENT') return true
    throw error
  }
}

/** What a machine has written, looked at from outside while it runs: its disk is mounted for it alone. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesOf } from '../../control/drivers/oci/layout.ts'

/** What the command says of the upper directory of a running machine, in which it runs. */
export const inUpper = (dataDir: string, id: string, command: readonly [string, ...string[]]): string => {
  const [device] = readFileSync(filesOf(dataDir, id).device, 'utf8').split(' ')
  const script = 'mount -t ext4 "$1" /mnt && cd /mnt/upper && shift && exec "$@"'
  return execFileSync('unshare', ['--mount', 'sh', '-c', script, 'sh', join('/dev', device as string), ...command], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

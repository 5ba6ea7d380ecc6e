/**
 * Mounts in a machine's mount namespace, made by a small program of the host (`mount-drive.c`) that enters it. So neither
 * tenants nor their daemon need CAP_SYS_ADMIN or the mount calls, which stay forbidden to everything in the machine.
 */
import { open, readFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { fail, type AppError } from '../../../../shared/errors.ts'
import { rebuild } from '../../../../shared/installation.ts'
import type { DirectoryMount, Mounter } from '../../driver.ts'
import { toolEnvironment } from '../command.ts'
import type { Context } from '../context.ts'
import { filesOf } from '../layout.ts'
import { readMarker } from '../marker.ts'
import { runProcess } from '../process/run-process.ts'
import { idsPerMachine } from '../users/ranges.ts'
import { ofFirstProcess } from './first-process.ts'

const program = join(import.meta.dirname, 'build/mount-drive')
const [ENOENT, ENOTDIR, EINVAL, ENOSYS, ELOOP] = [2, 20, 22, 38, 40]
const inTheWay = [ENOENT, ENOTDIR, EINVAL, ELOOP]

interface Failure {
  readonly step: string
  readonly errno: number
}

const boundMs = 20_000

/** Undefined when the program did what it should; throws when it could not even be started. */
const enter = async (namespace: FileHandle, args: readonly string[]): Promise<Failure | undefined> => {
  const end = await runProcess({
    file: program,
    // By our own descriptor: the first process may have ended since, and its number be somebody else's.
    args: [`/proc/${process.pid}/fd/${namespace.fd}`, ...args],
    env: toolEnvironment,
    capture: true,
    session: false,
    signal: AbortSignal.timeout(boundMs),
  })
  if (end.errno === 0 && end.code === 0 && !end.signal) return undefined
  const impossible = (reason: string) => fail('driver_failed', { driver: 'oci', step: 'drive', reason })
  if (end.errno !== 0) throw impossible(`${program}: ${getSystemErrorMessage(-end.errno)}; ${rebuild}`)
  const [, step, number] = /^(\w+) (\d+)$/m.exec(end.output) ?? []
  if (step === undefined) throw impossible(`${program} ended with ${end.signal ?? end.code} and said nothing`)
  return { step, errno: Number(number) }
}

const failed = ({ step, errno }: Failure, wanted?: DirectoryMount, ownUsers = false): AppError => {
  const text = getSystemErrorMessage(-errno)
  if (wanted && step === 'drive' && inTheWay.includes(errno))
    return fail('not_found', { kind: 'drive', name: wanted.drive.split('/').at(-1) ?? '' })
  if (wanted && step === 'source' && inTheWay.includes(errno))
    return fail('invalid_argument', { field: 'drivePath', reason: `is no directory of the drive: ${text}` })
  if (wanted && step === 'target' && inTheWay.includes(errno))
    return fail('invalid_argument', { field: 'mountPath', reason: 'a file or a link is in the way' })
  if (step === 'map')
    return fail('operation_failed', {
      reason: ownUsers
        ? `the file system of this drive cannot show its files to the users of a sandbox (${text}); move it to ext4 or xfs, or set HUTCH_USER_NAMESPACES=off`
        : `the file system of this drive cannot show other owners (${text}); leave uidMap and gidMap out`,
    })
  const next = errno === ENOSYS ? '; drives need Linux 5.12 or newer' : ''
  return fail('operation_failed', { reason: `cannot ${wanted ? 'mount' : 'unmount'} (${step}): ${text}${next}` })
}

/** Throws `invalid_argument` for ids that a machine with users of its own does not have. */
const checkIds = ({ uid, gid }: { uid: string; gid: string }): void => {
  for (const [field, id] of Object.entries({ uidMap: uid, gidMap: gid }))
    if (Number(id) >= idsPerMachine)
      throw fail('invalid_argument', { field, reason: `must be below ${idsPerMachine} in this sandbox` })
}

export const ociMounter = (context: Context): Mounter => {
  const inside = async (id: string, args: readonly string[]): Promise<Failure | undefined> => {
    const namespace = await ofFirstProcess(
      context,
      id,
      directory => open(join(directory, 'ns/mnt')),
      opened => opened.close(),
    )
    try {
      return await enter(namespace, args)
    } finally {
      await namespace.close()
    }
  }
  return {
    table: id => ofFirstProcess(context, id, directory => readFile(join(directory, 'mountinfo'), 'utf8')),
    async mount(id, wanted) {
      const { base, drive, drivePath, mountPath, readOnly, owner } = wanted
      const flags = readOnly ? ['0', '1'] : ['1', '0']
      const firstId = (await readMarker(filesOf(context.dataDir, id).marker))?.firstId
      if (firstId !== undefined && owner) checkIds(owner)
      const as = (uid: string, gid: string) => {
        const look = [uid || '-', gid || '-', firstId === undefined ? '-' : String(firstId)]
        return inside(id, ['mount', base, drive, drivePath, ...flags, ...look, mountPath])
      }
      const failure = owner && (await as(owner.uid, owner.gid))
      if (owner && !failure) return true
      if (failure && (failure.step !== 'map' || owner.required)) throw failed(failure, wanted, firstId !== undefined)
      const plain = await as('', '')
      if (plain) throw failed(plain, wanted, firstId !== undefined)
      return false
    },
    async unmount(id, { mountId, mountPath }) {
      const failure = await inside(id, ['unmount', String(mountId), mountPath])
      if (failure) throw failed(failure)
    },
  }
}

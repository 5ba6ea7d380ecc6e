/** Where an operator's image comes from, in the words of skopeo. */
import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { execa } from 'execa'
import { errno, fail } from '../../../shared/errors.ts'
import { remoteOf } from './reference.ts'

/** `transport:rest` of skopeo; nothing else, so that no source is read as an option. */
export const sourcePattern = /^(docker|oci|oci-archive|docker-archive|dir|containers-storage|docker-daemon):.+/s

const kindOf = async (path: string): Promise<'file' | 'directory' | undefined> => {
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'file'
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** What `docker save` writes has a list of its own; others have the files of an OCI layout. */
const archiveOf = async (path: string): Promise<string> => {
  const { stdout, failed } = await execa('tar', ['-tf', path], { reject: false, stdin: 'ignore' })
  const names = stdout.split('\n').map(name => name.replace(/^\.\//, ''))
  if (!failed && names.includes('manifest.json')) return `docker-archive:${path}`
  if (!failed && names.includes('oci-layout')) return `oci-archive:${path}`
  throw fail('invalid_argument', { field: 'FROM', reason: `${path} is no archive of an image` })
}

const isLayout = (path: string): Promise<boolean> =>
  readFile(join(path, 'oci-layout')).then(
    () => true,
    () => false,
  )

/**
 * An archive (`docker save`, `skopeo copy`), a directory with an OCI layout, a reference with its registry, or a source as skopeo
 * has them; relative paths begin at `cwd`. Throws `invalid_argument` for anything else.
 */
export const sourceOf = async (from: string, cwd: string): Promise<string> => {
  if (sourcePattern.test(from)) return from
  const path = resolve(cwd, from)
  const kind = from ? await kindOf(path) : undefined
  if (kind === 'file') return archiveOf(path)
  if (kind === 'directory' && (await isLayout(path))) return `oci:${path}`
  const remote = kind ? undefined : remoteOf(from)
  if (remote) return `docker://${remote.name}`
  throw fail('invalid_argument', {
    field: 'FROM',
    reason: `"${from}" is neither an archive of an image, nor a directory with an OCI layout, nor a reference such as docker.io/library/alpine:3`,
  })
}

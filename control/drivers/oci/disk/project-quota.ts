/** The driver's C addon for quotas of projects (`project-quota.c`), which a file system counts and bounds by a number of its files. */
import { join } from 'node:path'
import { getSystemErrorMessage, getSystemErrorName } from 'node:util'
import { fail } from '../../../../shared/errors.ts'
import { nativeAddon } from '../../../base/native-addon.ts'

interface Addon {
  join(directory: string, project: number): number
  projectOf(directory: string): number
  bound(place: string, project: number, bytes: number, inodes: number): number
  count(
    place: string,
    project: number,
  ): number | readonly [bytes: number, inodes: number, bytes: number, inodes: number]
}

const addon = nativeAddon<Addon>(join(import.meta.dirname, 'build/project-quota.node'))

/** Nothing is counted there. */
const uncounted: ReadonlySet<string> = new Set(['ESRCH', 'ENOSYS', 'ENOTTY', 'EOPNOTSUPP'])

const failed = (answer: number, what: string): Error => {
  const next = uncounted.has(getSystemErrorName(answer)) ? '; mount the data directory with prjquota, as it was' : ''
  return fail('driver_failed', {
    driver: 'oci',
    step: 'quota',
    reason: `${what}: ${getSystemErrorMessage(answer)}${next}`,
  })
}

const checked = (answer: number, what: string): number => {
  if (answer >= 0) return answer
  throw failed(answer, what)
}

/** Gives a directory that is empty the number, which everything has that is made in it from now on. Throws `driver_failed`. */
export const joinProject = (directory: string, project: number): void => {
  checked(addon().join(directory, project), `project ${project} of ${directory}`)
}

/** What there is nothing of, or no such directory. */
const nothing: ReadonlySet<string> = new Set([...uncounted, 'ENOENT', 'ENOTDIR', 'ELOOP'])

/** The number that a directory hands on; 0 for none, also where there is no such directory. */
export const projectOf = (directory: string): number => {
  const answer = addon().projectOf(directory)
  return answer < 0 && nothing.has(getSystemErrorName(answer)) ? 0 : checked(answer, directory)
}

/** Bounds what files with the number may take of the file system that `place` is on, for good; 0 is no bound. Throws `driver_failed`. */
export const boundProject = (place: string, project: number, most: { bytes: number; inodes: number }): void => {
  checked(addon().bound(place, project, most.bytes, most.inodes), `bounds of project ${project}`)
}

/** Takes the bounds of a number away whose files are gone. Where nothing is counted any more there are none. */
export const forgetProject = (place: string, project: number): void => {
  const answer = addon().bound(place, project, 0, 0)
  if (answer < 0 && !nothing.has(getSystemErrorName(answer))) throw failed(answer, `bounds of project ${project}`)
}

/** Whether the file system that `place` is on counts projects. */
export const countsProjects = (place: string): boolean => typeof addon().count(place, 1) !== 'number'

export interface Count {
  /** What files with the number take, bytes. */
  readonly bytes: number
  /** Nobody's: there are no such files, and no bounds for any. */
  readonly isFree: boolean
}

/** What is counted for a number. Throws `driver_failed`, also where nothing is counted. */
export const countOf = (place: string, project: number): Count => {
  const found = addon().count(place, project)
  if (typeof found === 'number') throw failed(found, `files of project ${project}`)
  return { bytes: found[0], isFree: found.every(number => number === 0) }
}

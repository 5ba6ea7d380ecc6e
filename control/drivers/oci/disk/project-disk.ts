/**
 * Machines that share a file system which counts and bounds the files of each by a number, its project. The number is in the machine's
 * marker before anything has it, and in the directories that the machine writes to; both outlive any crash, and what is
 * missing of bounds and directories is made again by the next start.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fail } from '../../../../shared/errors.ts'
import type { MachineFiles } from '../layout.ts'
import { removeDirectory } from '../remove-directory.ts'
import { prepareAgain, prepareRoot, type RootInput } from '../rootfs.ts'
import { copyTree } from './copy-tree.ts'
import type { Disk, DiskKind } from './kind.ts'
import { boundProject, countOf, forgetProject, joinProject, projectOf } from './project-quota.ts'
import { bytesPerMb } from './shape.ts'

/** Numbers from here on, 2^30 of them: others count theirs from small ones. */
const firstProject = 2 ** 30

/** As many as a disk of its own has: one for each 8 KiB. */
const inodesPerMb = 128

/** For the host's files and the overlay's own in a machine that is full, while it starts. */
const startMb = 1

const mostMb = 1_048_576

/**
 * A number that nobody on the file system has. Which one is tried first is by the machine's place, so that servers which share the file
 * system do not choose the same at once. A number is free only when all files with it are gone: also those that a process still has open.
 */
const freeProject = (dir: string, given: ReadonlyMap<string, number>): number => {
  const taken = new Set(given.values())
  const first = createHash('sha256').update(dir).digest().readUInt32BE() % firstProject
  for (let tries = 0; tries < 1_000; tries++) {
    const project = firstProject + ((first + tries) % firstProject)
    if (!taken.has(project) && countOf(join(dir, '..'), project).isFree) return project
  }
  throw fail('driver_failed', { driver: 'oci', step: 'quota', reason: `no number of a project is free for ${dir}` })
}

const projectIn = ({ project }: Disk): number => {
  if (project !== undefined) return project
  throw new Error('a disk that is a file has no project')
}

const bound = ({ dir }: MachineFiles, disk: Disk, moreMb = 0): void => {
  const mb = disk.room + moreMb
  boundProject(dir, projectIn(disk), { bytes: mb * bytesPerMb, inodes: mb * inodesPerMb })
}

/** All that may have the number. */
const treesOf = ({ upper, work, store, private: kept, settling }: MachineFiles): readonly string[] => [
  upper,
  work,
  store,
  kept,
  settling,
]

const settle = async ({ settling }: MachineFiles, project: number): Promise<void> => {
  if (projectOf(settling) === project) return
  await removeDirectory(settling)
  await mkdir(settling, { mode: 0o700 })
  joinProject(settling, project)
}

/**
 * A tree without the number, of a backup, is copied by way of `settling` into one that has it. Interrupted, the tree is under one of its two
 * names, and the copy goes on from what there is.
 */
const adopt = async (root: RootInput, tree: string, project: number): Promise<void> => {
  const { files, signal } = root
  const old = `${tree}.old`
  if (!existsSync(tree) && existsSync(old)) await rename(old, tree)
  await removeDirectory(old)
  if (!existsSync(tree) || projectOf(tree) === project) return
  await settle(files, project)
  const copy = join(files.settling, basename(tree))
  await copyTree({ from: tree, to: copy, signal })
  await rename(tree, old)
  await rename(copy, tree)
  await removeDirectory(old)
}

/** Whether it got its number on this file system. */
export const isOfHere = (files: MachineFiles, disk: Disk): boolean =>
  treesOf(files).some(tree => projectOf(tree) === projectIn(disk))

export const projectDisks = (): DiskKind => {
  /** By directory, before there are bounds or files. */
  const given = new Map<string, number>()
  const give = (dir: string): number => {
    const project = given.get(dir) ?? freeProject(dir, given)
    given.set(dir, project)
    return project
  }
  return {
    claimableMb: mostMb,
    plan({ dir }, _spec, room) {
      return { mb: room, room, project: give(dir) }
    },
    again(files, disk) {
      // On another file system the number may be somebody's.
      return isOfHere(files, disk) || countOf(files.dir, projectIn(disk)).isFree
        ? disk
        : { ...disk, project: give(files.dir) }
    },
    async prepare({ root, disk, earlier }) {
      const { files } = root
      const project = projectIn(disk)
      // By a directory that has it, a start that was killed is known to have had the number.
      if (earlier && !isOfHere(files, disk)) await settle(files, project)
      // Nothing is written before it has an end.
      bound(files, disk, startMb)
      if (earlier) for (const tree of [files.upper, files.private]) await adopt(root, tree, project)
      await removeDirectory(files.settling)
      const made = (directory: string) => joinProject(directory, project)
      for (const place of root.nests ? [files.private, files.store] : [files.private])
        if (!existsSync(place)) {
          mkdirSync(place, { mode: 0o700 })
          made(place)
        }
      await (earlier ? prepareAgain({ ...root, made }) : prepareRoot({ ...root, made }))
      return undefined
    },
    bound,
    kept: files => [files.upper, files.private],
    async drop(files, disk) {
      for (const tree of treesOf(files)) await removeDirectory(tree)
      forgetProject(files.dir, projectIn(disk))
      given.delete(files.dir)
    },
  }
}

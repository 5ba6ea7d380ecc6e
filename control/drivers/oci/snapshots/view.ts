/** What is in a snapshot, for whoever compares two. */
import { join } from 'node:path'
import type { View, ViewedFile } from '../../snapshotter.ts'
import { run, tool } from '../command.ts'
import type { Context } from '../context.ts'
import { stageDir } from '../names.ts'
import { program } from '../native/programs.ts'
import { walkLayer } from '../users/layers.ts'
import { needManifest, placeOf } from './place.ts'

/** Of each some hundred bytes. */
const mostFiles = 50_000

const kinds: Readonly<Record<string, ViewedFile['type']>> = { f: 'file', d: 'directory', l: 'link', w: 'gone' }

const fileFrom = (what: string): ViewedFile => {
  const [kind = '', opaque, size] = what.split(' ')
  return { type: kinds[kind] ?? 'other', size: Number(size), opaque: opaque === '1', mark: markOf(what) }
}

/** A directory's time and size say what is in it, which is looked at by itself. */
const markOf = (what: string): string => {
  const [kind, , size, mode, user, group, time] = what.split(' ')
  return kind === 'd' ? `d ${mode} ${user} ${group}` : [kind, size, mode, user, group, time].join(' ')
}

/** The first bytes of a file of the tree `upper` of the working directory, in base64: what it holds is no text. */
const reading = 'head --bytes="$1" -- "./upper/$2" | base64 --wrap=0'

export const viewSnapshot = async (context: Context, id: string, signal: AbortSignal | undefined): Promise<View> => {
  const { dataDir } = context
  const { trees } = await needManifest(dataDir, id)
  const { dir } = placeOf(dataDir, id)
  const disk = trees.includes('disk.img') ? join(dir, 'disk.img') : undefined
  const top = disk ? 'upper' : join(dir, 'upper')
  const found = await walkLayer('view snapshot', ['list', top, String(mostFiles)], disk)
  const files = new Map(found.slice(0, mostFiles).map(({ what, path }) => [path.slice(1), fileFrom(what)]))
  return {
    files,
    truncated: found.length > mostFiles,
    async read(path, most) {
      if (files.get(path)?.type !== 'file') return undefined
      const command = [tool('sh'), '-c', reading, 'sh', String(most), path]
      const [file, ...args] = disk
        ? [program('with-disk'), stageDir, disk, ...command]
        : [tool('env'), '--chdir', dir, ...command]
      return Buffer.from(await run({ step: 'view snapshot', file: file as string, args, signal }), 'base64')
    },
  }
}

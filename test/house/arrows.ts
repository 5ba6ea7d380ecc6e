/** Who imports whom, folder by folder: what the code does, and what `imports.list` says it may. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Source } from './sources.ts'

/** A line of the list: a folder, or a file that lies directly in `daemon/` or `control/`. */
export const placeOf = (file: string): string => {
  const folder = dirname(file)
  return folder === 'daemon' || folder === 'control' ? file : folder
}

/** What is drawn as one box: a folder with all below it, `daemon/process`, or one of those files. */
export const roomOf = (place: string): string => place.split('/').slice(0, 2).join('/')

/** Each place with the places it imports, and one import that is the reason for each. */
export type Arrows = ReadonlyMap<string, ReadonlyMap<string, string>>

export const arrowsOf = (sources: readonly Source[]): Arrows => {
  const arrows = new Map<string, Map<string, string>>()
  for (const { file, imports } of sources) {
    const from = placeOf(file)
    const to = arrows.get(from) ?? new Map<string, string>()
    arrows.set(from, to)
    for (const { target } of imports)
      if (target && placeOf(target) !== from && !to.has(placeOf(target)))
        to.set(placeOf(target), `${file} imports ${target}`)
  }
  return arrows
}

export interface Line {
  readonly place: string
  /** Places that it may import; what stands below it in the list has a mark. */
  readonly may: ReadonlyMap<string, 'below' | 'above'>
}

export const listFile = new URL('./imports.list', import.meta.url)

/** Lines of `place: place place !place`; `#` begins a comment. */
export const parseList = (text: string): Line[] =>
  text
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => {
      const [place = '', rest = ''] = line.split(':')
      const words = rest.split(' ').filter(word => word !== '')
      return {
        place,
        may: new Map(words.map(word => (word.startsWith('!') ? [word.slice(1), 'above'] : [word, 'below']))),
      }
    })

export const readList = (): Line[] => parseList(readFileSync(listFile, 'utf8'))

/**
 * Writes `imports.list` from what the code imports: `node test/house/write-imports.ts`. Look at what it changes: a line that
 * names a new folder is a decision.
 */
import { writeFileSync } from 'node:fs'
import { arrowsOf, listFile, roomOf, type Arrows } from './arrows.ts'
import { readSources } from './sources.ts'

const head = `# What each folder may import, and each file that lies directly in daemon/ or control/; its own folder besides. From the
# ground up: what a line names stands above it, but for what it marks with "!", which is against the grain.
# A missing line fails, and so does a name that is not used. \`node test/house/write-imports.ts\` writes this file.
`

const trees = ['shared', 'daemon', 'control', 'images']
const treeOf = (place: string): string => place.split('/')[0] as string

type Needs = ReadonlyMap<string, ReadonlySet<string>>

/** Each room with the rooms it imports. */
const needsOf = (arrows: Arrows): Needs => {
  const needs = new Map<string, Set<string>>()
  for (const [place, targets] of arrows) {
    const room = needs.get(roomOf(place)) ?? new Set()
    needs.set(roomOf(place), room)
    for (const target of targets.keys()) if (roomOf(target) !== roomOf(place)) room.add(roomOf(target))
  }
  return needs
}

/** How many arrows run against this order. */
const against = (order: readonly string[], needs: Needs): number =>
  order.reduce((sum, room, at) => sum + order.slice(at + 1).filter(other => needs.get(room)?.has(other)).length, 0)

/** Each room after those it imports; in a circle, the one that waits for the fewest comes first. */
const roughly = (needs: Needs): string[] => {
  const left = new Set([...needs.keys()].toSorted())
  const placed: string[] = []
  while (left.size > 0) {
    const waitsFor = (room: string) =>
      trees.indexOf(treeOf(room)) * 1000 + [...(needs.get(room) ?? [])].filter(other => left.has(other)).length
    const next = [...left].reduce((best, room) => (waitsFor(room) < waitsFor(best) ? room : best))
    left.delete(next)
    placed.push(next)
  }
  return placed
}

/** Rooms from the ground up: moves one at a time as long as that leaves fewer arrows against the grain. */
const inOrder = (needs: Needs): string[] => {
  let order = roughly(needs)
  for (let least = against(order, needs), better = true; better && least > 0; ) {
    better = false
    for (const room of order) {
      const others = order.filter(other => other !== room)
      for (let at = 0; at <= others.length; at++) {
        const moved = others.toSpliced(at, 0, room)
        const count = against(moved, needs)
        if (count < least) [order, least, better] = [moved, count, true]
      }
    }
  }
  return trees.flatMap(tree => order.filter(room => treeOf(room) === tree))
}

const arrows = arrowsOf(readSources())
const rooms = inOrder(needsOf(arrows))
const at = (place: string): number => rooms.indexOf(roomOf(place))
const inList = (places: Iterable<string>): string[] => [...places].toSorted((a, b) => at(a) - at(b) || (a < b ? -1 : 1))
const lineOf = (place: string): string => {
  const targets = inList(arrows.get(place)?.keys() ?? [])
  return `${place}:${targets.map(target => (at(target) > at(place) ? ` !${target}` : ` ${target}`)).join('')}`
}
const parts = trees.map(tree =>
  inList(arrows.keys())
    .filter(place => treeOf(place) === tree)
    .map(lineOf),
)
writeFileSync(listFile, [head, ...parts.map(lines => `${lines.join('\n')}\n`)].join('\n'))

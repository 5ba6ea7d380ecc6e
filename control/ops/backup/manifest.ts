/** The last file of a backup: one without it is not whole. */
import { parse, s, type Out } from '../../../shared/schema.ts'

const shape = s.object({
  format: s.literal(1),
  /** ISO 8601. */
  takenAt: s.string(),
  /** Where files were: records name images by their place. */
  dataDir: s.string(),
  imagesDir: s.string(),
  /** Ids of machines whose files are in it. */
  machines: s.array(s.string()),
})
export type Manifest = Out<typeof shape>

export const manifestName = 'hutch-backup.json'
export const databaseName = 'hutch.db'

/** Throws `invalid_argument` for what no backup of this build says. */
export const readManifest = (text: string): Manifest => parse(shape, JSON.parse(text), 'config')

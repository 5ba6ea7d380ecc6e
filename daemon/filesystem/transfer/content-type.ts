import { posix } from 'node:path'

const types: Readonly<Record<string, string>> = {
  '.txt': 'text/plain',
  '.log': 'text/plain',
  '.html': 'text/html',
  '.htm': 'text/html',
  '.css': 'text/css',
  '.js': 'application/javascript',
  '.json': 'application/json',
  '.xml': 'application/xml',
  '.pdf': 'application/pdf',
  '.zip': 'application/zip',
  '.tar': 'application/x-tar',
  '.gz': 'application/gzip',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
  '.gif': 'image/gif',
  '.svg': 'image/svg+xml',
}

/** By the last extension, case-sensitive; exactly these and without a charset, because clients compare them. */
export const contentType = (path: string): string => {
  const name = posix.basename(path)
  const dot = name.lastIndexOf('.')
  return (dot < 0 ? undefined : types[name.slice(dot)]) ?? 'application/octet-stream'
}

/** `attachment; filename="…"`; quotes and control characters cannot break out, other alphabets go in `filename*`. */
export const attachment = (name: string): string => {
  const plain = name.replace(/["\\]/g, '\\$&').replace(/[^\x20-\x7e]/g, '_')
  const extended = /[^\x20-\x7e]/.test(name) && name.isWellFormed()
  return `attachment; filename="${plain}"${extended ? `; filename*=UTF-8''${encodeURIComponent(name)}` : ''}`
}

/** The routes of the per-sandbox API by what they are about, for clients. */
import { fastApply, reranking } from './codegen.ts'
import { listMounts, mountDrive, unmountDrive } from './drives.ts'
import {
  deletePath,
  deleteTree,
  findPaths,
  readArchive,
  readPath,
  readRootTree,
  readTree,
  searchContent,
  searchPaths,
  writeArchive,
  writePath,
  writeRootTree,
  writeTree,
} from './filesystem.ts'
import { showIdentity } from './host.ts'
import { mcpGet, mcpPost } from './mcp.ts'
import { abortUpload, completeUpload, initiateUpload, listParts, listUploads, uploadPart } from './multipart.ts'
import { listPorts, startMonitor, stopMonitor } from './network.ts'
import {
  closeStdin,
  getProcess,
  killProcess,
  listProcesses,
  processLogs,
  startProcess,
  stopProcess,
  streamProcessLogs,
  writeStdin,
} from './process.ts'
import { swaggerFile, swaggerRoot } from './swagger.ts'
import { health, reloadEnvironment, upgrade } from './system.ts'
import { terminalPage, terminalSocket } from './terminal.ts'
import { configureTunnel, stopTunnel } from './tunnel.ts'
import { watchFilesystem } from './watch.ts'

export const sandboxRoutes = {
  codegen: { fastApply, reranking },
  documents: { page: swaggerRoot, file: swaggerFile },
  drives: { list: listMounts, mount: mountDrive, unmount: unmountDrive },
  files: {
    read: readPath,
    write: writePath,
    delete: deletePath,
    find: findPaths,
    search: searchPaths,
    searchContent,
    watch: watchFilesystem,
    readArchive,
    writeArchive,
    readTree,
    writeTree,
    deleteTree,
    readRootTree,
    writeRootTree,
  },
  mcp: { post: mcpPost, get: mcpGet },
  ports: { list: listPorts, startMonitor, stopMonitor },
  processes: {
    list: listProcesses,
    start: startProcess,
    get: getProcess,
    stop: stopProcess,
    kill: killProcess,
    logs: processLogs,
    stream: streamProcessLogs,
    writeStdin,
    closeStdin,
  },
  system: { health, showIdentity, reloadEnvironment, upgrade },
  terminal: { page: terminalPage, socket: terminalSocket },
  tunnel: { configure: configureTunnel, stop: stopTunnel },
  uploads: {
    list: listUploads,
    initiate: initiateUpload,
    part: uploadPart,
    complete: completeUpload,
    abort: abortUpload,
    parts: listParts,
  },
} as const

/**
 * The modes of new files and folders that hold the data of all tiers. Their owner writes, their group reads,
 * and nobody else does either; the umask takes away more. What exists keeps its mode.
 */
export const PRIVATE_FILE_MODE = 0o640;
export const PRIVATE_FOLDER_MODE = 0o750;

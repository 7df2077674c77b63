/** The group of control planes that stories of them are told of. */
export { control } from "../support/group_play.ts";

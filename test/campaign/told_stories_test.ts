/** Stories of the demo whose behaviour other stories prove for every change. */
import { testStory } from "../integration/stories/told_story.ts";

testStory("in-place");
testStory("canary");

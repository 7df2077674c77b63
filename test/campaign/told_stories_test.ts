/**
 * Stories of the demo that run only in the campaign, because the tests that run for every change prove the same
 * behaviour.
 */
import { testStory } from "../integration/stories/told_story.ts";

testStory("in-place");
testStory("canary");
testStory("abort");
testStory("bad-profile");
testStory("window");
